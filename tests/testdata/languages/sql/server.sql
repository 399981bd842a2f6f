:r .\setup.sql
SET NOCOUNT ON
GO
CREATE TABLE [dbo].[Stock] (
    [Id] INT IDENTITY(1, 1) NOT NULL,
    [Name] NVARCHAR(50),
    CONSTRAINT [PK_Stock] PRIMARY KEY CLUSTERED ([Id] ASC)
)
CREATE NONCLUSTERED INDEX IX_Stock_Name ON dbo.Stock (Name)
GO
IF OBJECT_ID('dbo.CountStock') IS NULL
    EXEC ('CREATE PROCEDURE dbo.CountStock AS RETURN 0;');
GO
-- Counts what there is.
ALTER PROCEDURE dbo.CountStock
    @Name NVARCHAR(50) = NULL, -- all without it
    @Total INT OUTPUT
WITH RECOMPILE
AS
BEGIN TRY
    CREATE TABLE #rows (Id INT);
    SELECT 'the next line is text
GO
';
END TRY
BEGIN CATCH
    PRINT 'failed';
END CATCH
GO
CREATE OR ALTER VIEW dbo.Empty AS SELECT Id FROM dbo.Stock WHERE Name IS NULL
GO
CREATE TYPE dbo.Ids AS TABLE (Id INT NOT NULL)
GO
CREATE FUNCTION dbo.Twice (@n INT)
RETURNS INT
AS
BEGIN
    RETURN @n * 2;
END
