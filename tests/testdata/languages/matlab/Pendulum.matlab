classdef Pendulum < handle & matlab.mixin.Copyable
    % A pendulum that swings in a plane.

    properties
        mass = 1.0          % kg
        rod
        angle (1,1) double = 0
    end

    properties (SetAccess = private, Dependent)
        energy
    end

    properties (Constant)
        GRAVITY = 9.81
    end

    events
        Stopped
    end

    enumeration
        Light, Heavy
    end

    methods
        function obj = Pendulum(mass, rod)
            % Makes a pendulum that hangs still.
            if nargin > 0
                obj.mass = mass;
                obj.rod = rod;
            end
        end

        function value = get.energy(obj)
            value = kinetic(obj) + obj.mass * obj.GRAVITY * height(obj);
        end

        function obj = swing(obj, seconds, varargin)
            [t, y] = ode45(@(t, y) derivative(obj, y), [0 seconds], [obj.angle; 0]);
            obj.angle = y(end, 1);
            if abs(obj.angle) < tolerance()
                notify(obj, 'Stopped');
            end
        end
    end

    methods (Access = private)
        function h = height(obj)
            h = obj.rod * (1 - cos(obj.angle));
        end

        function e = kinetic(obj), e = 0.5 * obj.mass; end
    end

    methods (Static)
        function p = standard()
            p = Pendulum(1, 1);
        end
    end
end

function dy = derivative(obj, y)
% The change of angle and speed; function not_code()
    dy = [y(2); -obj.GRAVITY / obj.rod * sin(y(1))];
end

function limit = tolerance
    limit = 1e-3;
end

%{
function commented_out()
end
%}

function [mean, spread] = statistics(values)
    mean = sum(values) / numel(values);
    spread = sqrt(sum((values - mean).^2));
    label = 'it''s tolerance()';
    disp(label');
end
